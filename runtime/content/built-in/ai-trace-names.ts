/**
 * Types an agent creates below its messages, without the prefix. @see
 * docs/interface/built-ins.md#node-types-of-messages
 */
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
