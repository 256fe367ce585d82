import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';

/**
 * Asks for a password at the terminal without showing it.
 *
 * @returns undefined when the prompt is cancelled (Ctrl-C, Ctrl-D)
 */
export function askPassword(question: string): Promise<string | undefined> {
  const silent = new Writable({
    write(_chunk, _encoding, done) {
      done();
    },
  });
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true });
  // Not standard output, which may be redirected to a file.
  process.stderr.write(question);
  return new Promise((resolve) => {
    const settle = (password: string | undefined): void => {
      process.stderr.write('\n');
      resolve(password);
      lines.close();
    };
    lines.once('line', settle);
    lines.once('SIGINT', () => settle(undefined));
    lines.once('close', () => resolve(undefined));
  });
}
