import { aiTraceNames } from './ai-trace-names.ts';
import {
  audited,
  type BuiltInNodeType,
  fulltext,
  indexed,
  oneOf,
  property,
  required,
  several,
  shipped,
  svc,
  typed,
  unique,
  va,
  vpa,
} from './define-type.ts';

/** Instructions and tools of an agent; of svc:Agent and svc:AIAgent. */
const agentProperties = [
  property('system_prompt'),
  property('provider'),
  property('model'),
  typed('Number', 'temperature', { default: 0.7 }),
  typed('Number', 'max_tokens', { default: 4096 }),
  typed('Array', 'tools'),
  property('execution_mode', { default: 'automatic', ...oneOf('automatic', 'step_by_step', 'manual') }),
  property('execution_context', { default: 'user', ...oneOf('user', 'system') }),
  typed('Boolean', 'thinking_enabled', { default: false }),
  typed('Array', 'rules'),
  typed('Number', 'max_iterations', { default: 10 }),
  typed('Number', 'timeout_ms', { default: 30_000 }),
  typed('Number', 'total_timeout_ms', { default: 300_000 }),
  typed('Boolean', 'compaction_enabled', { default: false }),
  typed('Number', 'compaction_threshold_tokens'),
  property('compaction_model'),
];

const actorProperties = [
  property('actor_id', indexed),
  property('display_name', fulltext),
  property('status', { default: 'active', ...indexed }),
  typed('Array', 'capabilities'),
  typed('Object', 'metadata'),
];

const callProperties = [
  property('tool_call_id', indexed),
  property('function_name', indexed),
  property('status', { default: 'pending', ...indexed }),
  property('error'),
  ...several('Date', 'started_at', 'completed_at'),
  typed('Number', 'duration_ms'),
];

/** Types of actors, agents and their conversations. @see docs/interface/built-ins.md#node-types-of-agents */
export const aiTypes: readonly BuiltInNodeType[] = [
  shipped('Actor', 1, { description: 'Somebody who does tasks.', properties: actorProperties, ...va }),
  shipped('AIActor', 1, {
    description: 'An agent that does tasks.',
    extends: 'svc:Actor',
    properties: [property('agent_path')],
  }),
  shipped('HumanActor', 1, {
    description: 'A person who does tasks.',
    extends: 'svc:Actor',
    properties: [property('user_path')],
  }),
  shipped('ActorTask', 1, {
    description: 'A task of an actor.',
    properties: [
      property('title', { ...required, ...fulltext }),
      property('description'),
      property('assignee', indexed),
      property('status', { default: 'pending', ...indexed }),
      typed('Number', 'priority', { default: 3 }),
      ...several('Object', 'input', 'output'),
      ...several('Date', 'due_at', 'completed_at'),
    ],
    ...va,
  }),
  shipped('Agent', 1, {
    description: 'A user that is an AI agent.',
    icon: 'bot',
    extends: 'svc:User',
    properties: agentProperties,
    ...va,
  }),
  shipped('AIAgent', 1, {
    description: 'The definition of an AI agent.',
    icon: 'bot',
    properties: [
      property('title', { ...required, ...fulltext }),
      property('name', { ...unique, ...indexed }),
      property('description'),
      typed('Boolean', 'enabled', { default: true, ...indexed }),
      ...agentProperties,
    ],
    ...vpa,
  }),
  shipped('AIConversation', 1, {
    description: 'A conversation with an agent.',
    properties: [
      property('title', fulltext),
      property('agent_path', indexed),
      property('status', { default: 'active', ...indexed }),
      typed('Object', 'context'),
      typed('Date', 'last_message_at'),
    ],
    allowed_children: svc('AIMessage', 'AICompaction', 'AgentUserContext'),
    ...audited,
  }),
  shipped('AIMessage', 1, {
    description: 'A message of a conversation with an agent.',
    properties: [
      property('role', { ...required, ...indexed }),
      property('content', fulltext),
      typed('Array', 'parts'),
      property('status', { default: 'complete', ...indexed }),
      property('finish_reason'),
      property('model'),
      typed('Object', 'metadata'),
    ],
    allowed_children: svc(...aiTraceNames),
    ...audited,
  }),
  shipped('AIThought', 1, {
    description: 'What an agent thought before it answered.',
    properties: [property('content'), property('thought_type'), typed('Object', 'metadata')],
  }),
  shipped('AIPlan', 1, {
    description: 'Tasks an agent has set itself.',
    properties: [
      property('title', fulltext),
      property('description'),
      property('status', { default: 'pending', ...indexed }),
      typed('Boolean', 'requires_approval', { default: false }),
    ],
    allowed_children: svc('AITask'),
  }),
  shipped('AITask', 1, {
    description: 'One task of a plan.',
    properties: [
      property('title', fulltext),
      property('description'),
      property('status', { default: 'pending', ...indexed }),
      typed('Number', 'position'),
      property('result'),
    ],
  }),
  shipped('AIToolCall', 1, {
    description: 'A function an agent wants called.',
    properties: [...callProperties, property('function_path'), typed('Object', 'arguments')],
    allowed_children: svc('AIToolResult', 'AIToolSingleCallResult'),
  }),
  shipped('AIToolResult', 1, {
    description: 'What a called function answered.',
    properties: [...callProperties, typed('Object', 'result')],
  }),
  shipped('AIToolSingleCallResult', 1, {
    description: 'What one of several called functions answered.',
    properties: [...callProperties, typed('Object', 'result')],
  }),
  shipped('AIToolResultAggregator', 1, {
    description: 'Waits for the answers of several called functions.',
    properties: [
      typed('Number', 'expected_count'),
      typed('Number', 'completed_count', { default: 0 }),
      property('status', { default: 'pending', ...indexed }),
      typed('Array', 'results'),
    ],
    allowed_children: svc('AIToolSingleCallResult'),
  }),
  shipped('AICostRecord', 1, {
    description: 'What a call to a model cost.',
    properties: [
      property('provider', indexed),
      property('model', indexed),
      ...several('Number', 'input_tokens', 'output_tokens', 'total_tokens', 'cost'),
      property('currency', { default: 'USD' }),
    ],
  }),
  shipped('AIModel', 1, {
    description: 'A model agents may use.',
    properties: [
      property('model_id', { ...required, ...unique }),
      property('provider', { ...required, ...indexed }),
      property('display_name', fulltext),
      typed('Boolean', 'enabled', { default: true, ...indexed }),
      typed('Array', 'use_cases'),
      ...several('Number', 'context_window', 'max_output_tokens', 'input_cost', 'output_cost'),
      typed('Object', 'metadata'),
    ],
    ...va,
  }),
  shipped('AIPrompt', 1, {
    description: 'A prompt to be used again.',
    properties: [
      property('title', { ...required, ...fulltext }),
      property('name', { ...unique, ...indexed }),
      property('description'),
      property('template', required),
      typed('Array', 'variables'),
    ],
    ...vpa,
  }),
  shipped('AICompaction', 1, {
    description: 'The summary that stands for the older part of a conversation.',
    properties: [
      property('summary', required),
      property('last_message_id'),
      ...several('Number', 'message_count', 'tokens_before', 'tokens_after'),
      property('model'),
    ],
  }),
  shipped('AgentUserContext', 1, {
    description: 'What an agent remembers of a user.',
    properties: [
      property('user_id', { ...required, ...indexed }),
      property('agent_path', indexed),
      property('summary'),
      typed('Object', 'facts'),
    ],
    ...audited,
  }),
];

/** All type names with the prefix. */
export const aiTypeNames: readonly string[] = aiTypes.map((type) => type.definition.name);
