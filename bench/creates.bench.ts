import type { Question } from './support/question.ts';
import { measureWrites } from './support/write-question.ts';

/**
 * How many durable creates a second does one branch take? An answer means that node, path, place among its
 * siblings, indexes and revision record survive a power loss.
 */
export const creates: Question = {
  name: 'creates',
  title: 'Durable creates',
  async measure(plan, stage) {
    const answer = await measureWrites(plan, stage, {
      name: 'create',
      plain: 'create',
      withHistory: 'create-revision',
    });
    return {
      ...answer,
      notes: [
        ...answer.notes,
        'Every create makes an article in any of the folders and a revision. "Row only" is the single-row `INSERT` into the JSONB table with its five secondary indexes; "with history" adds the revision row that Grove writes too. PostgreSQL: fsync and synchronous_commit on, otherwise as `initdb` leaves it.',
      ],
    };
  },
};
