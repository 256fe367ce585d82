import type { ClusterOverview, SeenFinding, SeenPartition } from '../ports.ts';

/** `alarm`: an operator must act now. `notice`: for information; no action is needed for now. */
export type WarningSeverity = 'notice' | 'alarm';

/**
 * Lag of a follower, in records, above which a warning is given: at peak write load it takes over a second to apply.
 */
export const RECORDS_BEHIND_MAX = 10_000;

/** Maximum partition numbers in a message; the rest is counted. */
const NAMED_PARTITIONS_MAX = 8;

/** All warnings of a cluster with their severity. `docs/operations.md` explains each and its remedy. */
export const clusterWarningSeverities = Object.freeze({
  'partition-without-owner': 'alarm',
  'partition-quarantined': 'alarm',
  'partition-stalled': 'alarm',
  'shards-rebuilt': 'alarm',
  'damage-contained': 'alarm',
  'actor-stopped': 'alarm',
  'writes-stopped': 'alarm',
  'folder-refused': 'alarm',
  'stored-damage': 'alarm',
  'signing-key-changed': 'alarm',
  'partition-unprotected': 'alarm',
  'partition-short-of-followers': 'notice',
  'follower-behind': 'alarm',
  'log-cannot-be-cut': 'alarm',
  'member-silent': 'alarm',
  'member-versions-differ': 'notice',
  'duplicate-member': 'alarm',
  'too-many-members': 'alarm',
  'durability-weak': 'notice',
  'nats-unreachable': 'alarm',
  'nats-settings': 'notice',
  'messages-refused': 'alarm',
  'unsigned-accepted': 'alarm',
  'nats-unauthenticated': 'alarm',
  'nats-plaintext': 'notice',
  'space-low': 'alarm',
  'space-exhausted': 'alarm',
  'clock-skew': 'alarm',
  'revisions-ahead': 'notice',
  'master-key-rotation': 'notice',
} satisfies Readonly<Record<string, WarningSeverity>>);

/** The stable code of a warning. */
export type ClusterWarningCode = keyof typeof clusterWarningSeverities;

/** A fault of the cluster. */
export interface ClusterWarning {
  readonly code: ClusterWarningCode;
  readonly severity: WarningSeverity;
  /** For people, with names and numbers. */
  readonly message: string;
}

/** The warnings of a cluster, alarms first. */
export function clusterWarnings(overview: ClusterOverview): readonly ClusterWarning[] {
  const found = [
    ...ofPartitions(overview),
    ...ofMembers(overview),
    ...ofDurability(overview),
    ...ofNatsServers(overview),
    ...overview.findings
      .filter((finding) => !isOwnQuarantine(overview, finding))
      .map(({ code, member, message }) => warning(code, `${member}: ${message}`)),
  ];
  return [
    ...found.filter(({ severity }) => severity === 'alarm'),
    ...found.filter(({ severity }) => severity === 'notice'),
  ];
}

/** Whether a finding repeats what the asked member says of its partitions. */
function isOwnQuarantine({ members }: ClusterOverview, { code, member }: SeenFinding): boolean {
  return code === 'partition-quarantined' && members.some(({ id, isSelf }) => isSelf && id === member);
}

function warning(code: ClusterWarningCode, message: string): ClusterWarning {
  return { code, severity: clusterWarningSeverities[code], message };
}

function ofPartitions({ followersWanted, members, partitions }: ClusterOverview): ClusterWarning[] {
  const warnings: ClusterWarning[] = [];
  const add = (code: ClusterWarningCode, some: readonly SeenPartition[], what: string): void => {
    if (some.length > 0) warnings.push(warning(code, `${named(some)} ${what}`));
  };
  for (const { partition, quarantine } of partitions)
    if (quarantine !== undefined)
      warnings.push(
        warning('partition-quarantined', `partition ${partition} takes no writes: ${quarantine}`),
      );
  add(
    'partition-without-owner',
    partitions.filter(({ owner, quarantine }) => owner === undefined && quarantine === undefined),
    'without an owner: requests for them wait or are answered 503',
  );
  for (const { log, partition } of partitions)
    if (log?.kept !== undefined)
      warnings.push(
        warning(
          'log-cannot-be-cut',
          `the log of partition ${partition} has ${Math.floor((100 * log.bytes) / log.bytesMax)} % of its size, and nothing can be cut off: ${log.kept}`,
        ),
      );
  for (const { followers, partition } of partitions)
    for (const { member, recordsBehind } of followers)
      if (recordsBehind !== undefined && recordsBehind > RECORDS_BEHIND_MAX)
        warnings.push(
          warning(
            'follower-behind',
            `${member} is ${recordsBehind} records behind in partition ${partition}`,
          ),
        );
  const warm = ({ followers }: SeenPartition): number => followers.filter(({ isWarm }) => isWarm).length;
  const short = partitions.filter((each) => each.owner !== undefined && warm(each) < followersWanted);
  const bare = short.filter((each) => warm(each) === 0);
  add(
    'partition-unprotected',
    bare,
    'without a follower that could take over: if the owner dies, requests for them wait until one is rebuilt',
  );
  const heard = members.filter(({ state }) => state !== 'suspect').length;
  add(
    'partition-short-of-followers',
    short.filter((each) => !bare.includes(each)),
    heard <= followersWanted
      ? `with fewer than ${followersWanted} followers, for only ${heard} members are there`
      : `with fewer than ${followersWanted} followers that could take over: others are catching up`,
  );
  return warnings;
}

/** `3 partitions (0, 4, 7)`. */
function named(partitions: readonly SeenPartition[]): string {
  const numbers = partitions.slice(0, NAMED_PARTITIONS_MAX).map(({ partition }) => partition);
  const more = partitions.length > numbers.length ? ', …' : '';
  return `${partitions.length} ${partitions.length === 1 ? 'partition' : 'partitions'} (${numbers.join(', ')}${more})`;
}

function ofMembers({ members }: ClusterOverview): ClusterWarning[] {
  const silent = members
    .filter(({ state }) => state === 'suspect')
    .map(({ id, url }) => warning('member-silent', `nothing is heard of ${id} (${url})`));
  const versions = new Set(members.flatMap(({ version }) => (version === '' ? [] : [version])));
  if (versions.size < 2) return silent;
  const list = members.map(({ id, version }) => `${id} ${version}`).join(', ');
  return [
    ...silent,
    warning('member-versions-differ', `the members run different versions (${list}): finish the upgrade`),
  ];
}

/** Failures that the weak durability classes do not survive. */
const weakness: Readonly<Record<string, string>> = {
  relaxed: 'the writes of the last 100 ms are lost when the machine goes down',
  quorum: 'writes can be lost when two NATS servers lose their power within the interval of their flushes',
};

function ofDurability({ durability }: ClusterOverview): ClusterWarning[] {
  const loses = weakness[durability];
  return loses === undefined ? [] : [warning('durability-weak', `durability is ${durability}: ${loses}`)];
}

function ofNatsServers({ natsRemarks, natsServers }: ClusterOverview): ClusterWarning[] {
  const unreachable = natsServers
    .filter(({ isReachable }) => !isReachable)
    .map(({ name }) => warning('nats-unreachable', `NATS server ${name} does not answer`));
  return [...unreachable, ...natsRemarks.map((remark) => warning('nats-settings', remark))];
}
