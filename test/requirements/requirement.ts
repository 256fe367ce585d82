/** The documents a row can come from, by the name a row uses and the title a reader knows it by. */
export const documentTitles = {
  1: 'Identity, Authentication and MCP Interface',
  2: 'Content, Query, Functions and Versioning Interface',
  3: 'Supplement 3: content',
  4: 'Supplement 4: SQL dialect',
  5: 'Supplement 5: access, functions and protocols',
  6: 'Supplement 6: MCP notes',
  design: 'Design decisions, where the documents leave room',
  goals: 'Goals of the product: edge, durability, robustness, delivery',
} as const;

/** Where a promise is written down. */
export type SourceDocument = keyof typeof documentTitles;

/** The themes of work, in the order they are built; each row names the one that delivers it. */
export const themes = [
  'rest-content',
  'versioning',
  'cluster',
  'locks',
  'access',
  'sql',
  'pgwire',
  'assets',
  'functions',
  'mcp',
  'mcp-outbound',
  'websocket',
  'console',
] as const;

/** Which theme of work delivers a row. */
export type Theme = (typeof themes)[number];

/** `planned`: no test proves it yet. `verified`: at least one test proves it, and every test that names it passes. */
export type Status = 'planned' | 'verified';

/**
 * One promise of the interface, as data.
 *
 * Tests prove a row by carrying its id in square brackets in their title; the gate compares both sides.
 */
export interface Requirement {
  /** `PREFIX-NNN`. Never reused and never renumbered, because tests and commits refer to it. */
  readonly id: string;
  readonly document: SourceDocument;
  /** Heading in the document, or the subject where the document has no heading for it. */
  readonly section: string;
  readonly status: Status;
  readonly theme: Theme;
  /** One testable sentence with the exact status, field or text. `W` is a workspace's content base, `REPO` a repository's management base. */
  readonly behaviour: string;
  /** Items of the supplements' numbered lists that this row stands for, as `<document>/<item>`. */
  readonly covers?: readonly string[];
}

/** The shape of a requirement id, for matching a whole text. */
export const requirementIdPattern = /^[A-Z]+-\d{3}$/;
