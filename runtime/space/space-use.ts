import type { SpaceUse } from './space-gate.ts';

/**
 * The effect on space of the commands of a kind of actor, by type.
 *
 * @param ending types of commands that remove data, or complete work in progress
 */
export function spaceUseByType<Type extends string>(
  ending: readonly Type[],
): (command: { readonly type: string }) => SpaceUse {
  const known: ReadonlySet<string> = new Set(ending);
  return ({ type }) => (known.has(type) ? 'ends' : 'grows');
}
