"""What an agent may do: rules as data, the gate that decides each tool call, hooks, approvals, the prompt guard."""
