import { describe, expect, it } from 'vitest';
import { envelopeOf, placeAt, placeBehind, stepOf } from '#runtime/bus/envelope.ts';
import type { BranchEvent, RevisionCommitted } from '#runtime/tree/branch-events.ts';

const commit = (previous: string, revision: string): RevisionCommitted => ({
  type: 'RevisionCommitted',
  revision,
  previous,
  mergeParent: null,
  timestamp: '2026-01-01T00:00:00.000Z',
  actor: 'ada',
  message: '',
  isSystem: false,
  definitions: [],
  changeCount: 0,
  changes: [],
});

const move = (previous: string, revision: string): BranchEvent => ({ type: 'HeadMoved', previous, revision });

describe('the order of an event relative to the last one that was delivered', () => {
  const step = (head: string, tip: string, event: BranchEvent | { type: 'Reset'; revision: string }) =>
    stepOf(placeAt({ head, tip }), envelopeOf('t/r/b/branch', event));

  it.each([
    ['a revision that follows', '5-0', '5-0', commit('5-0', '6-0'), 'next'],
    ['a revision told already', '5-0', '5-0', commit('4-0', '5-0'), 'known'],
    ['a revision behind one that is missing', '5-0', '5-0', commit('6-0', '7-0'), 'gap'],
    ['a revision that a head moved back left behind', '2-0', '5-0', commit('2-0', '3-0'), 'known'],
    ['a revision after the head moved back', '2-0', '5-0', commit('2-0', '6-0'), 'next'],
    ['counters, by number', '5-9', '5-9', commit('5-9', '5-10'), 'next'],
    ['a move of the head from there', '5-0', '5-0', move('5-0', '2-0'), 'next'],
    ['a move of the head to there', '2-0', '5-0', move('5-0', '2-0'), 'known'],
    ['a move of the head between others', '5-0', '5-0', move('6-0', '2-0'), 'gap'],
    ['a reset to there', '5-0', '5-0', { type: 'Reset' as const, revision: '5-0' }, 'known'],
    ['a reset to elsewhere', '5-0', '5-0', { type: 'Reset' as const, revision: '6-0' }, 'gap'],
  ])('%s', (_title, head, tip, event, expected) => {
    expect(step(head, tip, event)).toBe(expected);
  });

  it('a move of the head does not make a revision unknown again', () => {
    const place = placeBehind(
      placeAt({ head: '5-0', tip: '5-0' }),
      envelopeOf('t/r/b/branch', move('5-0', '2-0')),
    );
    expect(place).toEqual(placeAt({ head: '2-0', tip: '5-0' }));
  });
});
