import type { ShardDamage } from '#cluster/ownership/shard-damage.ts';
import type { MemberFinding } from '#protocols/rest/ports.ts';
import type { ActorStopReason, StoppedActor } from '#runtime/actor/stopped-actors.ts';

/** Maximum number of actors named in a message; the rest is counted. */
const NAMED_MAX = 3;

/** Maximum number of characters of a name or cause; a finding must fit into a message between members. */
const CHARACTERS_MAX = 80;

/** Maximum number of characters of a damage description, which names a file. */
const DAMAGE_CHARACTERS_MAX = 400;

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

/** Returns the status findings about damaged shards of a partition. */
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
