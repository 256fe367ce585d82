import { randomBytes } from 'node:crypto';
import type { NatsConnection } from '@nats-io/transport-node';
import { ClusterKeys } from '#cluster/seal/cluster-keys.ts';
import { LogSeal } from '#cluster/seal/log-seal.ts';
import { MemberSeal } from '#cluster/seal/member-seal.ts';
import { LIFE_BYTES } from '#cluster/seal/peer-lives.ts';
import { Refusals } from '#cluster/seal/refusals.ts';
import { ReplayGuard } from '#cluster/seal/replay-guard.ts';
import { SealedLink } from '#cluster/seal/sealed-link.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';

/** The master key of the members of a test. */
export const testMasterKey: Uint8Array = new Uint8Array(32).fill(7);

/** A seal and what it refused, as `kind reason sender`. */
export interface TestSeal {
  readonly seal: MemberSeal;
  readonly refused: string[];
}

/** What a test may want otherwise. */
export interface TestSealOptions {
  readonly clock?: Clock;
  readonly masterKey?: Uint8Array;
  /** The master key before it. */
  readonly previous?: Uint8Array;
  readonly acceptsUnsigned?: boolean;
}

/** The seal of one life of a member; where a member takes calls is its name. */
export function testSeal(name: string, options: TestSealOptions = {}): TestSeal {
  const { acceptsUnsigned = false, clock = systemClock, masterKey = testMasterKey, previous } = options;
  const refused: string[] = [];
  const seal = new MemberSeal({
    keys: new ClusterKeys(masterKey, 'test', previous),
    life: randomBytes(LIFE_BYTES),
    clock,
    refusals: new Refusals(clock, {
      refused: () => undefined,
      noticed: (kind, reason, sender) => void refused.push(`${kind} ${reason} ${sender}`),
    }),
    acceptsUnsigned,
    callSubjectOf: (member) => member,
  });
  seal.begin(name);
  return { seal, refused };
}

/** What members of a test seal with what they store. */
export function testLogSeal({
  acceptsUnsigned = false,
  masterKey = testMasterKey,
  previous,
}: TestSealOptions = {}): LogSeal {
  return new LogSeal(new ClusterKeys(masterKey, 'test', previous), acceptsUnsigned);
}

/** Lets a member hear a heartbeat of another one. */
export function hearPulse(at: MemberSeal, of: MemberSeal): void {
  const data = Buffer.from('alive');
  const sender = at.openNews(
    { subject: 'pulse', replyTo: '', data, seal: of.sealNews('pulse', '', data) },
    new ReplayGuard(),
  );
  if (sender === undefined) throw new Error('the heartbeat was refused');
  at.heard(sender);
}

/** What members tell each other, over a connection of a test. */
export function testLink(connection: NatsConnection, name = 'm'): SealedLink {
  return new SealedLink(connection, testSeal(name).seal);
}
