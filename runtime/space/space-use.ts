import type { SpaceUse } from './space-gate.ts';

/**
 * What the commands of a kind of actor do to space, by their types.
 *
 * @param ending types of those that take something away, or bring to its end what was begun
 */
export function spaceUseByType<Type extends string>(
  ending: readonly Type[],
): (command: { readonly type: string }) => SpaceUse {
  const known: ReadonlySet<string> = new Set(ending);
  return ({ type }) => (known.has(type) ? 'ends' : 'grows');
}
