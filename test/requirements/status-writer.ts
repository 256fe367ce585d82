import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Turns rows from `planned` to `verified` in the row files of a folder, in place.
 *
 * The files are edited as text, one row a line, so that comments and order stay; a file is replaced by a rename,
 * so that a colleague's editor or a test run never reads half of one. Rows are never turned back: a run of only
 * some tests would otherwise undo what the others prove.
 *
 * @param directory folder of the row files
 * @param ids rows to turn
 * @returns the ids that were turned, sorted; an id on no line, or already `verified`, is not among them
 */
export function markVerified(directory: string, ids: ReadonlySet<string>): string[] {
  const turned: string[] = [];
  for (const name of readdirSync(directory).filter((file) => file.endsWith('.ts'))) {
    const path = join(directory, name);
    const before = readFileSync(path, 'utf8');
    const after = before
      .split('\n')
      .map((line) => {
        const id = /^\s*\{ id: '([A-Z]+-\d{3})'/.exec(line)?.[1];
        if (id === undefined || !ids.has(id)) return line;
        const edited = line.replace("status: 'planned'", "status: 'verified'");
        if (edited !== line) turned.push(id);
        return edited;
      })
      .join('\n');
    if (after === before) continue;
    const temporary = `${path}.${process.pid}.tmp`;
    writeFileSync(temporary, after);
    renameSync(temporary, path);
  }
  return turned.sort();
}
