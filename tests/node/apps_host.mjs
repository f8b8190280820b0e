// A host of MCP Apps for one card: the official bridge, and a frame without an origin.
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

const heard = { opened: [], sizes: [], errors: [], ready: 0 };
const frame = document.getElementById("frame");
const bridge = new AppBridge(null, { name: "host", version: "1" }, { openLinks: {} });
bridge.onopenlink = async ({ url }) => {
  heard.opened.push(url);
  return {};
};
bridge.onsizechange = (size) => heard.sizes.push(size);
bridge.onerror = (error) => heard.errors.push(String(error));
bridge.fallbackRequestHandler = async ({ method }) => {
  heard.errors.push(`asked for ${method}`);
  return {};
};
const initialized = new Promise((done) => (bridge.oninitialized = () => done((heard.ready += 1))));

async function show(html, result) {
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = html;
  await initialized;
  await bridge.sendToolInput({ arguments: {} });
  await bridge.sendToolResult(result);
}

Object.assign(window, { heard, show, leave: () => bridge.teardownResource({}) });
