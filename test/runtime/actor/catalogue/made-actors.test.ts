import { describe, expect, it } from 'vitest';
import { canBeMade, type MadeActor, MadeActors } from '#runtime/actor/catalogue/made-actors.ts';
import { revisionZero } from '#runtime/content/revision.ts';
import { lifecycleEntry } from '#runtime/log/lifecycle-entry.ts';
import type { LogEntry } from '#runtime/log/log-entry.ts';

const create = (actor: string): LogEntry => lifecycleEntry(actor, { kind: 'create' }, revisionZero);
const fork = (source: string, actor: string): LogEntry =>
  lifecycleEntry(actor, { kind: 'fork', source }, revisionZero);
const destroy = (owner: string): LogEntry => lifecycleEntry(owner, { kind: 'destroy' }, revisionZero);
const write = (actor: string): LogEntry => ({ actor, writes: [], clock: revisionZero });

/** @param log entries by their sequence @param reached by actor */
function made(
  log: Readonly<Record<number, LogEntry>>,
  reached: Readonly<Record<string, number>> = {},
  damaged: readonly number[] = [],
): Readonly<Record<string, MadeActor>> {
  const actors = new MadeActors({
    reached: (actor) => reached[actor],
    lost: damaged.map((sequence) => ({ first: sequence, last: sequence })),
  });
  for (const [sequence, entry] of Object.entries(log))
    actors.take({ sequence: Number(sequence), entries: [entry] });
  return Object.fromEntries(actors.all);
}

describe('what a log makes', () => {
  it('has everything of what it creates, from any starting point', () => {
    expect(made({ 7: create('a/x'), 8: write('a/x') })).toEqual({
      'a/x': { kind: 'create', sequence: 7, isLost: false },
    });
  });

  it('is the newest of a name, and nothing that was removed', () => {
    const log = { 1: create('a/x'), 2: create('a/y'), 3: create('ab/z'), 4: destroy('a'), 5: create('a/y') };
    expect(made(log)).toEqual({
      'ab/z': { kind: 'create', sequence: 3, isLost: false },
      'a/y': { kind: 'create', sequence: 5, isLost: false },
    });
  });

  it.each([
    ['stands before it', 2, false],
    ['has gone on', 4, true],
    ['is lost, and the log does not make it', undefined, true],
  ])('has a copy or not: its source %s', (_, reached, isLost) => {
    const log = { 3: fork('x', 'y') };
    expect(made(log, reached === undefined ? {} : { x: reached }).y).toMatchObject({ isLost });
  });

  it('has a copy of what it makes itself, and none of a lost copy', () => {
    expect(made({ 1: create('x'), 2: fork('x', 'y') }).y).toMatchObject({ isLost: false });
    const log = { 3: fork('x', 'y'), 4: fork('y', 'z') };
    expect(made(log, { x: 9 }).z).toMatchObject({ isLost: true });
    expect(made(log, { x: 9, y: 3 }).z).toMatchObject({ isLost: false });
  });

  it('is lost where records left the log behind it', () => {
    const log = { 1: create('x'), 3: create('y') };
    expect(made(log)).toMatchObject({ x: { isLost: true }, y: { isLost: false } });
    // Who depends on damage is judged apart.
    expect(made(log, {}, [2])).toMatchObject({ x: { isLost: false }, y: { isLost: false } });
    // Records beside the damaged ones have left.
    const later = { 1: create('x'), 4: create('y') };
    for (const damaged of [[2], [3]]) expect(made(later, {}, damaged)).toMatchObject({ x: { isLost: true } });
    expect(made(later, {}, [2, 3])).toMatchObject({ x: { isLost: false } });
  });
});

describe('an actor without a file', () => {
  const lost = { sequence: 3, isLost: true } as const;

  it.each([
    ['is made when the log has all of its records', { ...lost, kind: 'create', isLost: false }, 0, true],
    ['is made when others alone have left the log', { ...lost, kind: 'create' }, 0, true],
    ['is made when only its creation has left the log', undefined, 0, true],
    ['is lost when records of it have left the log', { ...lost, kind: 'create' }, 5, false],
    ['is lost when the log has nothing of it', undefined, 5, false],
    ['is lost when it is not known what has left the log', { ...lost, kind: 'create' }, undefined, false],
    ['is lost when it is a fork of a source that has gone on', { ...lost, kind: 'fork' }, 0, false],
  ] as const)('%s', (_, how, floor, isMade) => {
    expect(canBeMade(how, floor === undefined ? undefined : { floor })).toBe(isMade);
  });
});
