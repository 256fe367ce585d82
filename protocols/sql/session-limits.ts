import { invalid } from '#runtime/errors/service-error.ts';
import { isWrite } from './statement-class.ts';
import type { SqlText } from './sql-text.ts';

/** Most commands of one text: each statement that writes outside a transaction is one, and each transaction. */
export const COMMANDS_MAX = 1_000;

/**
 * Refuses a text that writes too often: each write waits until it is durable.
 *
 * @param isWithin whether the text begins within a transaction
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function requireFewCommands({ statements }: SqlText, isWithin: boolean): void {
  let isTransaction = isWithin;
  let commands = 0;
  for (const { statement } of statements) {
    const { kind } = statement;
    if (kind === 'begin') isTransaction = true;
    else if (kind === 'commit' || kind === 'rollback') {
      isTransaction = false;
      commands += 1;
    } else if (!isTransaction && isWrite(statement)) commands += 1;
  }
  if (commands <= COMMANDS_MAX) return;
  const bound = COMMANDS_MAX.toLocaleString('en');
  throw invalid(
    `A request has at most ${bound} statements that write; put them between BEGIN and COMMIT, or into several requests`,
  );
}
