import type { PartitionRole } from '#cluster/ownership/partition-environment.ts';
import type { ShardDamage } from '#cluster/ownership/shard-damage.ts';
import type { MemberFinding } from '#protocols/rest/ports.ts';
import type { ActorStopReason, StoppedActor } from '#runtime/actor/damage/stopped-actors.ts';

/** Maximum number of actors named in a message; the rest is counted. */
const NAMED_MAX = 3;

/** Maximum number of characters of a name or cause; a finding must fit into a message between members. */
const CHARACTERS_MAX = 80;

/** Maximum number of characters of a damage description, which names a file. */
const DAMAGE_CHARACTERS_MAX = 400;

/** Said of a partition in quarantine without a recorded reason. */
export const QUARANTINED = 'Its log or its shards cannot be trusted; see the log of this member';

const said: Readonly<Record<ActorStopReason, string>> = {
  invariant: 'a broken invariant; keep the log of this member, then restart it',
  log: 'its log takes nothing more; see the log of this member, then restart it',
  damage:
    'files or the journal are damaged, and they may have lost writes; they are not served; see what the log of this member names',
};

/** Returns the status findings about actors that accept no writes. */
export function stoppedFindings(stopped: readonly StoppedActor[]): readonly MemberFinding[] {
  return Object.entries(said).flatMap(([reason, what]): MemberFinding[] => {
    const some = stopped.filter((each) => each.reason === reason);
    const [first] = some;
    if (first === undefined) return [];
    const names = some.slice(0, NAMED_MAX).map(({ actor }) => shortened(actor));
    const more = some.length > names.length ? ` and ${some.length - names.length} more` : '';
    const message = `writes of ${names.join(', ')}${more} are stopped: ${what} (${shortened(first.message, reason === 'damage' ? DAMAGE_CHARACTERS_MAX : CHARACTERS_MAX)})`;
    return [{ code: 'actor-stopped', message }];
  });
}

/** State of a partition at one member, as far as findings are about it. */
export interface PartitionState {
  readonly role: PartitionRole;
  /** Why it accepts no writes; undefined when it does. */
  readonly trouble: string | undefined;
  readonly damage: Pick<ShardDamage, 'contained' | 'rebuilt'>;
}

/** Returns the status findings about a partition at this member: what it has of it, and why it accepts no writes. */
export function partitionFindings(
  partition: number,
  { damage: { contained, rebuilt }, role, trouble }: PartitionState,
): readonly MemberFinding[] {
  const findings: MemberFinding[] = [];
  if (rebuilt !== undefined) {
    const message = `its data of partition ${partition} is rebuilt: ${rebuilt}`;
    findings.push({ code: 'shards-rebuilt', message });
  }
  if (contained !== undefined) {
    const what = shortened(contained, DAMAGE_CHARACTERS_MAX);
    const message =
      `some of its data of partition ${partition} is damaged and refused, the rest is served: ${what}. ` +
      'It is rebuilt when a member has stored a snapshot of the partition';
    findings.push({ code: 'damage-contained', message });
  }
  if (role === 'quarantined') {
    const why = shortened(trouble ?? QUARANTINED, DAMAGE_CHARACTERS_MAX);
    findings.push({
      code: 'partition-quarantined',
      message: `partition ${partition} takes no writes: ${why}`,
    });
  } else if (trouble !== undefined)
    findings.push({ code: 'partition-stalled', message: `partition ${partition}: ${trouble}` });
  return findings;
}

function shortened(text: string, charactersMax = CHARACTERS_MAX): string {
  return text.length > charactersMax ? `${text.slice(0, charactersMax - 1)}…` : text;
}
