/**
 * Rebuilds the catalogue of a stopped data directory.
 *
 * Run: npm run rebuild-catalogue -- --help
 */
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { type CommandValues, FAILED_EXIT_CODE, runCommand, USAGE_EXIT_CODE } from '#operator/run-command.ts';
import { givenFolder, requireFolder } from '#operator/given-folder.ts';
import { rebuildCatalogue } from './rebuilt-catalogue.ts';

/** The catalogue is usable, and there are remarks for the operator. */
const REMARKS_EXIT_CODE = 3;

const usage = `npm run rebuild-catalogue [-- option …]

Rebuilds a lost or damaged catalogue of actors (actors/.catalogue) of a single member from its other files: each shard contains
the name of its actor and its position in the journal, and the registries list the repositories and branches. Stop the member
first. An existing catalogue is kept beside the new one.

Use this only if you have no copy of the catalogue that was made at the same time as the other files. A rebuilt catalogue
cannot detect two kinds of loss: actors that were lost together with it and are not registered, such as the locks of a branch,
and records at the end of the journal that no shard contains. If the old catalogue cannot be read, the new one does not know the
master key of the directory either: the next start accepts any key and records it.

Where later files have left a journal that is kept because of damage, an actor without a folder may have been removed. It is
named with the reason and the remedy.

  --data-dir <folder>   the data directory; default: SVC_DATA_DIR, else data
  --help                show this text

Exit code 0: done. ${REMARKS_EXIT_CODE}: done, but something is missing or unknown; its name is printed. ${FAILED_EXIT_CODE}: it failed. ${USAGE_EXIT_CODE}: wrong options.
`;

const options = { 'data-dir': { type: 'string' } } as const;

async function main(values: CommandValues<typeof options>): Promise<number> {
  const folder = givenFolder('--data-dir', values['data-dir'] ?? (process.env.SVC_DATA_DIR || 'data'));
  requireFolder(folder);
  const dataDir = folder.path;
  const { actors, keptAt, knowsKey, remarks } = await rebuildCatalogue({
    dataDir,
    clock: systemClock,
    random: systemRandom,
  });
  for (const remark of remarks) process.stdout.write(`${remark}\n`);
  const kept = keptAt === undefined ? '' : ` The one before it is kept as ${keptAt}.`;
  process.stdout.write(`The catalogue of ${dataDir} lists ${actors} actors.${kept}\n`);
  if (!knowsKey)
    process.stdout.write(
      'It does not know the master key of the directory: the next start accepts any key and records it. ' +
        'Make sure that secrets/master-key, or SVC_MASTER_KEY, is the right key.\n',
    );
  return remarks.length === 0 ? 0 : REMARKS_EXIT_CODE;
}

await runCommand({ usage, options, main });
