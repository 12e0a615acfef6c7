"""What patterns wait for, and which values they want: look-ups of tests by place and by value."""
