"""Commands that make draws and judge them."""
