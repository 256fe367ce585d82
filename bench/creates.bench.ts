import type { Question } from './support/question.ts';
import { measureWrites } from './support/write-question.ts';

/**
 * How many durable creates a second can one branch process? An answer means that the node, its path, its position among
 * siblings, its index entries and its revision record survive a power loss.
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
