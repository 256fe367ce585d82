import type { LiteralNode, ParameterNode, Span } from './syntax-nodes.ts';

/** A text that a statement gives: a string or a parameter. */
export type GivenText = LiteralNode | ParameterNode;

/** A single value that a statement gives: a string, number, truth value or NULL, or a parameter. A sign is part of a number. */
export type GivenValue = LiteralNode | ParameterNode;

/** The name of a workspace; quoted in any way, or bare. */
export interface WorkspaceName {
  readonly name: string;
  /** Whether it was written bare, so that it may be the alias of a workspace in CamelCase. */
  readonly isBare: boolean;
  readonly span: Span;
}
