import { claimName } from '#server/host/claimed-name.ts';
import { acquireDataDirectory } from '#runtime/embedded/data-directory-lock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/*
 * A process that takes a data directory and keeps it until it is killed: `data-directory-holder.ts <folder>`.
 * It says `held`, or the error's code and message, on standard output.
 */
const [folder = ''] = process.argv.slice(2);

try {
  await acquireDataDirectory(folder, claimName);
  process.stdout.write('held\n');
  setInterval(() => {}, 1000);
} catch (error) {
  if (!(error instanceof ServiceError)) throw error;
  process.stdout.write(`${error.code} ${error.message}\n`);
}
