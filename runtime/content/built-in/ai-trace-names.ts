/** Types an agent leaves below its messages, without the prefix. @see Supplement 1.4, Message */
export const aiTraceNames = [
  'AIThought',
  'AIPlan',
  'AITask',
  'AIToolCall',
  'AIToolResult',
  'AIToolSingleCallResult',
  'AIToolResultAggregator',
  'AICostRecord',
] as const;
