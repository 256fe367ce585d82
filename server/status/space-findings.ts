import type { MemberFinding } from '#protocols/rest/ports.ts';
import type { SpaceGate } from '#runtime/space/space-gate.ts';

/** Returns the status findings about volumes, logs and stores that are short of space. */
export function spaceFindings(gate: SpaceGate): readonly MemberFinding[] {
  return gate.short.map(({ level, place, usedPercent }) => {
    const full = `${place} is ${usedPercent} % full`;
    switch (level) {
      case 'read-only':
        return { code: 'space-exhausted', message: `${full}: nothing is written any more` };
      case 'refusing':
        return {
          code: 'space-exhausted',
          message: `${full}: only what deletes or releases something is written`,
        };
      default:
        return { code: 'space-low', message: `${full}: make room before writes are refused` };
    }
  });
}
