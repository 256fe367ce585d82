import { describe, expect, it } from 'vitest';
import { truncation, type TruncationFacts } from '#cluster/snapshot/truncation-rule.ts';

/** A log from record 100 on, with everything in order for a cut at 500. */
const fine: TruncationFacts = {
  firstSequence: 100,
  snapshots: [
    { sequence: 800, member: 'a' },
    { sequence: 500, member: 'a' },
  ],
  ownerStored: 900,
  followers: [
    { member: 'a', stored: 880 },
    { member: 'b', stored: 850 },
  ],
  agedSequence: 1000,
  isPressed: false,
};

const otherSnapshots = [
  { sequence: 800, member: 'b' },
  { sequence: 500, member: 'a' },
];

const cases: readonly (readonly [
  string,
  Partial<TruncationFacts>,
  number | undefined,
  RegExp | undefined,
])[] = [
  ['behind the older snapshot', {}, 500, /older snapshot ends at record 500/],
  ['not without a snapshot', { snapshots: [] }, undefined, /0 of 2 snapshots/],
  [
    'not with one snapshot, so that a damaged one has a second',
    { snapshots: fine.snapshots.slice(0, 1) },
    undefined,
    /1 of 2/,
  ],
  [
    'not with one snapshot although the log is nearly full',
    { snapshots: fine.snapshots.slice(0, 1), isPressed: true },
    undefined,
    /1 of 2/,
  ],
  ['no further than the owner has stored', { ownerStored: 400 }, 400, /owner has stored up to record 400/],
  [
    'no further than the last follower has stored',
    { followers: [{ member: 'b', stored: 300 }] },
    300,
    /b has stored up to record 300/,
  ],
  [
    'not while a follower is not heard of',
    { followers: [{ member: 'b', stored: undefined }] },
    undefined,
    /b did not report/,
  ],
  [
    'not while a follower has nothing',
    { followers: [{ member: 'b', stored: 0 }] },
    undefined,
    /b has stored up to record 0/,
  ],
  [
    'past a follower when two members took the snapshots',
    { snapshots: otherSnapshots, followers: [{ member: 'c', stored: 0 }] },
    500,
    /older snapshot/,
  ],
  [
    'not past the owner when two members took the snapshots',
    { snapshots: otherSnapshots, ownerStored: 450 },
    450,
    /owner/,
  ],
  ['without followers, where nobody ought to follow', { followers: [] }, 500, /older snapshot/],
  ['only what is old enough', { agedSequence: 200 }, 200, undefined],
  ['nothing while all is young', { agedSequence: 0 }, undefined, undefined],
  [
    'what is young as well when the log is nearly full',
    { agedSequence: 0, isPressed: true },
    500,
    /older snapshot/,
  ],
  [
    "nothing for the followers' sake even when the log is nearly full",
    { followers: [{ member: 'b', stored: 50 }], isPressed: true },
    undefined,
    /b has stored up to record 50/,
  ],
  ['nothing when it was cut there already', { firstSequence: 500 }, undefined, /older snapshot/],
];

describe('how much of a log may go', () => {
  it.each(cases)('%s', (_name, facts, before, kept) => {
    const verdict = truncation({ ...fine, ...facts });
    expect(verdict.before).toBe(before);
    if (kept === undefined) expect(verdict.kept).toBeUndefined();
    else expect(verdict.kept).toMatch(kept);
  });
});
