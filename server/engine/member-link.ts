import type { NatsConnection } from '#cluster/nats/connection.ts';
import { assert } from '#runtime/base/assert.ts';
import type { MemberFinding } from '#protocols/rest/ports.ts';
import { linkRisks, linkSecurityOf } from '#cluster/nats/link-security.ts';
import type { Subjects } from '#cluster/nats/subjects.ts';
import { ClusterKeys } from '#cluster/seal/cluster-keys.ts';
import { LogSeal } from '#cluster/seal/log-seal.ts';
import { MemberSeal } from '#cluster/seal/member-seal.ts';
import { LIFE_BYTES } from '#cluster/seal/peer-lives.ts';
import { Refusals } from '#cluster/seal/refusals.ts';
import { SealedLink } from '#cluster/seal/sealed-link.ts';
import type { EngineEnvironment } from './engine.ts';

/** What the seals of a member depend on. */
type SealEnvironment = Pick<EngineEnvironment, 'options' | 'secrets'>;

/** Derives the keys of a cluster from the master key that all its members share. */
function clusterKeysOf({ options, secrets }: SealEnvironment): ClusterKeys {
  assert(options.server.masterKey !== undefined, 'a cluster has a master key');
  const { masterKey, previousMasterKey } = secrets;
  return new ClusterKeys(masterKey.bytes(), options.cluster.name, previousMasterKey?.bytes());
}

/** Returns the seal for messages that members of a cluster store in streams. */
export function logSealOf(environment: SealEnvironment): LogSeal {
  return new LogSeal(clusterKeysOf(environment), environment.options.cluster.acceptUnsigned);
}

/** Returns the sealed link through which this member and the others exchange messages. */
export function sealedLink(
  connection: NatsConnection,
  subjects: Subjects,
  {
    clock,
    log,
    metrics,
    options,
    random,
    secrets,
  }: Pick<EngineEnvironment, 'clock' | 'log' | 'metrics' | 'options' | 'random' | 'secrets'>,
): SealedLink {
  const refused = metrics.counter(
    'svc_messages_refused_total',
    'Messages refused because they were not of a member, or had come before.',
  );
  const refusals = new Refusals(clock, {
    refused: () => refused.add(),
    noticed: (kind, reason, sender) =>
      log.warn('message without a valid signature refused', { kind, reason, claimedSender: sender }),
  });
  const seal = new MemberSeal({
    keys: clusterKeysOf({ options, secrets }),
    life: random.bytes(LIFE_BYTES),
    clock,
    refusals,
    acceptsUnsigned: options.cluster.acceptUnsigned,
    callSubjectOf: (member) => subjects.calls(member),
  });
  return new SealedLink(connection, seal);
}

/** Returns findings for operators about the security of this member's link. */
export function linkFindings(
  { connection, seal }: SealedLink,
  urls: readonly string[],
): readonly MemberFinding[] {
  const unsigned: MemberFinding[] = seal.acceptsUnsigned
    ? [
        {
          code: 'unsigned-accepted',
          message:
            'accepts messages that are not signed, from anyone with access to NATS: complete the upgrade, and remove [cluster] accept_unsigned',
        },
      ]
    : [];
  const refused = seal.alarms.map((message): MemberFinding => ({ code: 'messages-refused', message }));
  return [...refused, ...unsigned, ...linkRisks(linkSecurityOf(connection, urls))];
}
