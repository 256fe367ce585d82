import type { ShardDamage } from '#cluster/lease/shard-damage.ts';
import type { MemberFinding } from '#protocols/rest/ports.ts';
import type { ActorStopReason, StoppedActor } from '#runtime/actor/stopped-actors.ts';

/** Actors a message names at most; the rest is counted. */
const NAMED_MAX = 3;

/** Characters of one name or cause; a finding has to fit into a message between members. */
const CHARACTERS_MAX = 80;

/** Characters of what is said of damage, which names a file. */
const DAMAGE_CHARACTERS_MAX = 400;

const said: Readonly<Record<ActorStopReason, string>> = {
  invariant: 'a broken invariant; keep the log of this member, then restart it',
  log: 'its log takes nothing more; see the log of this member, then restart it',
  damage:
    'files or the journal are damaged, and they may have lost writes; they are not served; see what the log of this member names',
};

/** What the status says of actors that take no writes. */
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

/** What the status says of damaged shards of a partition. */
export function damageFindings(
  partition: number,
  { contained, rebuilt }: Pick<ShardDamage, 'contained' | 'rebuilt'>,
): readonly MemberFinding[] {
  const findings: MemberFinding[] = [];
  if (rebuilt !== undefined) {
    const message = `what it had of partition ${partition} is made anew: ${rebuilt}`;
    findings.push({ code: 'shards-rebuilt', message });
  }
  if (contained !== undefined) {
    const what = shortened(contained, DAMAGE_CHARACTERS_MAX);
    const message =
      `some of what it has of partition ${partition} is damaged and refused, the rest is served: ${what}. ` +
      'It is made anew as soon as a snapshot is brought that a member has stored of the partition';
    findings.push({ code: 'damage-contained', message });
  }
  return findings;
}

function shortened(text: string, charactersMax = CHARACTERS_MAX): string {
  return text.length > charactersMax ? `${text.slice(0, charactersMax - 1)}…` : text;
}
