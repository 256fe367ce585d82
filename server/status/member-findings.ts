import type { MemberFinding } from '#protocols/rest/ports.ts';
import type { DuplicateMember } from '#cluster/directory/duplicate-members.ts';
import { MEMBERS_MAX, type MemberRegistry } from '#cluster/directory/member-registry.ts';

/** Returns the message about a name that two processes use. */
export function duplicateMemberText({ member, url }: DuplicateMember): string {
  return `two processes run as ${member}, and the one at ${url} is ignored: stop it, or give it its own name`;
}

/** Returns the status findings about members that should not run. @param registry undefined before it has started */
export function memberFindings(
  registry: Pick<MemberRegistry, 'duplicates' | 'surplus'> | undefined,
): readonly MemberFinding[] {
  if (registry === undefined) return [];
  const { duplicates, surplus } = registry;
  const twice = duplicates.map(
    (other): MemberFinding => ({ code: 'duplicate-member', message: duplicateMemberText(other) }),
  );
  if (surplus === undefined) return twice;
  const message = `there are more than ${MEMBERS_MAX} members, and the others ignore ${surplus}: stop it`;
  return [...twice, { code: 'too-many-members', message }];
}
