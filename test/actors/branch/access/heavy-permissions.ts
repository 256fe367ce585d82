import { operations } from './hidden-world.ts';

/** A condition that looks at the name alone, takes some thousand units of work and does not hold. */
const heavyCondition = (index: number): string =>
  Array.from({ length: 140 }, () => `node.name.contains('${index}')`).join('||');

/** As many of them as a role may have: no decision is made under them. */
export const heavy = Array.from({ length: 500 }, (_, index) => ({
  path: '**',
  operations,
  condition: heavyCondition(index + 1_000),
}));
