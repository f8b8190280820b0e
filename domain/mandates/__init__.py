"""What is agreed: the mandate, its terms, and how they are said."""
