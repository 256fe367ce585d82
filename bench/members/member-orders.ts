import type { Told } from './tally.ts';

/** What a benchmark tells a member of its own to do. */
export type MemberOrder =
  /** Say in which branch something is committed next. */
  | { readonly do: 'listen' }
  /** Have so many subscribers to a branch in all. */
  | { readonly do: 'subscribe'; readonly branch: string; readonly subscribers: number }
  /** Collect garbage, and say what is left. */
  | { readonly do: 'weigh' };

/** Memory in use, in bytes. */
export interface MemberMemory {
  readonly heapBytes: number;
  /** Without mapped files. */
  readonly residentBytes: number;
}

/** What the member answers. */
export type MemberReport =
  | { readonly say: 'listening' }
  | { readonly say: 'heard'; readonly branch: string }
  /** All are subscribed and wait. */
  | { readonly say: 'subscribed' }
  | ({ readonly say: 'weighed' } & MemberMemory)
  /** Everybody has been told of a revision. */
  | ({ readonly say: 'told' } & Told);
