import type { Question } from './support/question.ts';
import { measureWrites } from './support/write-question.ts';

/** How many durable updates a second can one branch process? Each replaces all properties, including indexed ones. */
export const updates: Question = {
  name: 'updates',
  title: 'Durable updates',
  async measure(plan, stage) {
    const answer = await measureWrites(plan, stage, {
      name: 'update',
      plain: 'update',
      withHistory: 'update-revision',
    });
    return {
      ...answer,
      notes: [
        ...answer.notes,
        '"Row only" is the single-row `UPDATE … WHERE path = …`, which keeps nothing of what it replaced; "with history" also stores the replaced version and a revision row, as every update of Grove does.',
      ],
    };
  },
};
