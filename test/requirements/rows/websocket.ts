// biome-ignore-all format: one row a line, so that a row is one line in searches, in diffs and in `gate.ts --write`
import type { Requirement } from '../requirement.ts';

/** Requirement rows: websocket. */
export const websocketRows: readonly Requirement[] = [
  { id: 'WS-001', section: 'WebSocket', status: 'planned', theme: 'websocket', behaviour: 'A connection without a token is greeted with `anonymous: true`; a bad token closes it' },
  { id: 'WS-002', section: 'WebSocket', status: 'planned', theme: 'websocket', behaviour: '`node_get` of an unreadable id answers success with `result: null`; an unknown type answers INVALID_REQUEST or NOT_IMPLEMENTED and the connection stays open' },
  { id: 'WS-003', section: 'WebSocket', status: 'planned', theme: 'websocket', behaviour: 'Two equal `subscribe` filters answer the same `subscription_id`; `unsubscribe` of an unknown id answers INVALID_REQUEST' },
  { id: 'WS-004', section: 'WebSocket', status: 'planned', theme: 'websocket', behaviour: 'A subscriber on `/a/*` gets `node:created` for `/a/x`, not for `/a/x/y` or `/b`; `include_node` gives `node`' },
  { id: 'WS-005', section: 'WebSocket', status: 'planned', theme: 'websocket', behaviour: 'A subscriber who cannot read a node gets neither its created nor its deleted event; other repositories never leak' },
  { id: 'WS-006', section: 'WebSocket', status: 'planned', theme: 'websocket', behaviour: 'A malformed frame and an empty binary frame are ignored; the 101st concurrent operation answers RATE_LIMIT_EXCEEDED' },
  { id: 'WS-007', section: 'WebSocket', status: 'planned', theme: 'websocket', behaviour: '`USE BRANCH \'b\'` through sql_query makes later requests without a branch use `b`' },
  { id: 'WS-008', section: 'WebSocket', status: 'planned', theme: 'websocket', behaviour: '`/ws` and `/ws/{repo}` accept WebSocket connections' },
  { id: 'WS-009', section: 'WebSocket', status: 'planned', theme: 'websocket', behaviour: 'A WebSocket node write makes a revision like a REST write' },
];
