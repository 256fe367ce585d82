import { afterEach, beforeEach, expect, it } from 'vitest';
import { partitionFindings, stoppedFindings } from '#server/status/stopped-findings.ts';
import { clusterWarnings } from '#protocols/rest/management/cluster-warnings.ts';
import { stoppedActor } from '#runtime/actor/damage/stopped-actors.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { InvariantError } from '#runtime/base/assert.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { type EnginesUnderTest, openEmbeddedRouters } from '#test/support/engines.ts';

const actor = 'acme/site~1/notes';

let engines: EnginesUnderTest;

beforeEach(async () => {
  engines = await openEmbeddedRouters();
});

afterEach(() => engines.close());

it('a member reports which of its actors stopped, and why', async () => {
  const [member] = engines.members;
  if (member === undefined) throw new Error('there is one');
  await member.lifecycle.create(actor);
  const sent = member.router.command(actor, { type: 'Break' }, { caller: engineCaller('acme') });
  await expect(sent).rejects.toThrow(InvariantError);
  expect(member.stoppedActors()).toMatchObject([{ actor, reason: 'invariant' }]);
  expect(member.missing()).toEqual([]);
  const warnings = clusterWarnings(await member.status.read(AbortSignal.timeout(10_000)));
  expect(warnings[0]).toEqual({
    code: 'actor-stopped',
    severity: 'alarm',
    message: expect.stringMatching(
      /m0: writes of acme\/site~1\/notes are stopped: a broken invariant.*notes are/,
    ),
  });
});

it('names a few of many, and stays short', () => {
  const names = Array.from({ length: 40 }, (_, index) => `acme/${'x'.repeat(300)}${index}/notes`);
  const stopped = names.map((name) => ({ actor: name, reason: 'log' as const, message: 'y'.repeat(1000) }));
  const [finding, ...more] = stoppedFindings(stopped);
  expect(more).toEqual([]);
  expect(finding?.message).toMatch(/ and 37 more are stopped/);
  expect(finding?.message.length).toBeLessThanOrEqual(500);
});

it('has nothing to report for an actor whose log moved to another member', () => {
  expect(stoppedActor(actor, new ServiceError('NOT_OWNER'))).toBeUndefined();
  expect(stoppedActor(actor, new ServiceError('WRITES_STOPPED'))).toMatchObject({ reason: 'log' });
});

it('a member reports that it has a partition in quarantine or stalled, and why', () => {
  const damage = { contained: undefined, rebuilt: undefined };
  const told = (role: 'following' | 'quarantined', trouble?: string) =>
    partitionFindings(7, { role, trouble, damage }).map(({ code, message }) => `${code}: ${message}`);
  expect(told('following')).toEqual([]);
  expect(told('following', 'it waits')).toEqual(['partition-stalled: partition 7: it waits']);
  expect(told('quarantined', 'z'.repeat(2_000))[0]).toMatch(
    /^partition-quarantined: partition 7 takes no writes: z{300,400}…$/,
  );
  expect(told('quarantined')[0]).toMatch(/see the log of this member$/);
});
