import type { MemberFinding } from '#protocols/rest/ports.ts';
import { MEMBERS_MAX, type MemberRegistry } from '#cluster/directory/member-registry.ts';

/** What the status says of members that are there and should not be. @param registry undefined before it has begun */
export function memberFindings(
  registry: Pick<MemberRegistry, 'namesakes' | 'surplus'> | undefined,
): readonly MemberFinding[] {
  if (registry === undefined) return [];
  const { namesakes, surplus } = registry;
  const twice = namesakes.map(
    ({ member, url }): MemberFinding => ({
      code: 'duplicate-member',
      message: `two processes run as ${member}, and the one at ${url} is not listened to: stop it, or give it a name of its own`,
    }),
  );
  if (surplus === undefined) return twice;
  const message = `there are more than ${MEMBERS_MAX} members, and the others do not listen to ${surplus}: stop it`;
  return [...twice, { code: 'too-many-members', message }];
}
