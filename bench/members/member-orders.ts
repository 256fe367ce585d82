import type { Told } from './tally.ts';

/** Orders of a benchmark to a member it started. */
export type MemberOrder =
  /** Report the branch of the next commit. */
  | { readonly do: 'listen' }
  /** Open subscriptions to a branch up to this total number. */
  | { readonly do: 'subscribe'; readonly branch: string; readonly subscribers: number }
  /** Collect garbage and report the memory in use. */
  | { readonly do: 'weigh' };

/** Memory in use, in bytes. */
export interface MemberMemory {
  readonly heapBytes: number;
  /** Without mapped files. */
  readonly residentBytes: number;
}

/** Reports of the member. */
export type MemberReport =
  | { readonly say: 'listening' }
  | { readonly say: 'heard'; readonly branch: string }
  /** All subscriptions are open. */
  | { readonly say: 'subscribed' }
  | ({ readonly say: 'weighed' } & MemberMemory)
  /** All subscribers have received a revision. */
  | ({ readonly say: 'told' } & Told);
