"""What a chain learns while it runs: step sizes, control variates, designs."""
