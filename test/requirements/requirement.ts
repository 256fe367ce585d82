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
  /**
   * Where the rule is written down: a page and its heading, as in `docs/interface/nodes.md#copying`. The subject alone
   * while the row is planned and no page has it.
   */
  readonly section: string;
  readonly status: Status;
  readonly theme: Theme;
  /** One testable sentence with the exact status, field or text. `W` is a workspace's content base, `REPO` a repository's management base. */
  readonly behaviour: string;
}

/** The shape of a requirement id, for matching a whole text. */
export const requirementIdPattern = /^[A-Z]+-\d{3}$/;
