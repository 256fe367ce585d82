import type { WorkloadStep } from './workload-step.ts';

/** A workload that once came out wrong. */
export interface FoundFailure {
  /** What was wrong. */
  readonly was: string;
  readonly steps: readonly WorkloadStep[];
}

const step = (
  action: WorkloadStep['do'],
  on: number,
  node: number,
  other: number,
  word: number,
  flag = false,
): WorkloadStep => ({ do: action, on, node, other, word, flag });

/** Found by random workloads and made as small as they go. */
export const foundFailures: readonly FoundFailure[] = [
  {
    was: 'a fork of an earlier revision kept what a fast-forward brought hidden',
    steps: [step('fork', 0, 2, 0, 0), step('forward', 2, 0, 0, 0), step('create', 2, 7, 0, 2)],
  },
  {
    was: 'branches were called diverged where the target had only been moved back',
    steps: [
      step('fork', 0, 0, 0, 0, true),
      step('rewind', 2, 3, 0, 0),
      step('forward', 2, 0, 0, 0),
      step('update', 0, 0, 0, 1),
      step('forward', 2, 0, 0, 0),
    ],
  },
  {
    was: 'of two merge bases one gave a node with all its locales',
    steps: [
      step('translate', 0, 0, 0, 0),
      step('cross', 1, 0, 0, 0),
      step('delete', 0, 0, 0, 0),
      step('cross', 0, 0, 0, 0),
      step('forward', 0, 0, 0, 0),
      step('update', 5, 0, 0, 1),
      step('forward', 0, 0, 0, 0),
      step('cross', 4, 0, 8, 0),
    ],
  },
  {
    was: 'a merge commit read otherwise where a fast-forward had made it continue another branch',
    steps: [
      step('reorder', 10, 2, 2, 2, true),
      step('merge', 9, 10, 6, 2, true),
      step('fork', 11, 6, 11, 1),
      step('forward', 6, 10, 1, 2),
      step('forward', 5, 7, 3, 2, true),
    ],
  },
  {
    was: 'of two merge bases the place of a node was that of the one that had not moved it',
    steps: [
      step('delete', 5, 2, 2, 0),
      step('delete', 5, 10, 2, 1),
      step('delete', 11, 7, 6, 2),
      step('merge', 8, 2, 11, 1),
      step('create', 10, 6, 8, 2),
      step('rewind', 5, 2, 9, 2),
      step('reorder', 3, 0, 5, 2),
      step('cross', 7, 1, 2, 0, true),
      step('reorder', 5, 4, 4, 0, true),
      step('merge', 2, 2, 3, 2),
      step('like', 5, 9, 7, 1),
      step('merge', 9, 0, 8, 0, true),
      step('merge', 1, 10, 0, 1),
    ],
  },
  {
    was: 'a fast-forward took the way that the target knew of a merge, and not the one of the source',
    steps: [
      step('translate', 5, 0, 8, 0),
      step('rename', 7, 11, 0, 2, true),
      step('like', 4, 11, 6, 0, true),
      step('merge', 1, 9, 4, 0, true),
      step('cross', 11, 1, 8, 1),
      step('forward', 5, 2, 0, 0),
      step('fork', 1, 1, 1, 2, true),
      step('undefine', 2, 4, 0, 2, true),
      step('fork', 11, 11, 8, 1),
      step('forward', 11, 2, 9, 1),
    ],
  },
];
