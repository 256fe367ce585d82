import type { Statement } from './nodes/statement-nodes.ts';
export function checkTreeDepth(_statement: Statement, _source: string): void {}
