/**
 * Rebuilds the catalogue of a stopped data directory.
 *
 * Run: npm run rebuild-catalogue -- --help
 */
import { systemClock } from '#runtime/base/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { type CommandValues, FAILED_EXIT_CODE, runCommand, USAGE_EXIT_CODE } from '#operator/run-command.ts';
import { givenFolder, requireFolder } from '#operator/given-folder.ts';
import { rebuildCatalogue } from './rebuilt-catalogue.ts';

/** The catalogue is usable, and there are remarks for the operator. */
const REMARKS_EXIT_CODE = 3;

const usage = `npm run rebuild-catalogue [-- option …]

Makes the catalogue of actors (actors/.catalogue) of a single member anew, where it is lost or damaged and there is no copy of
it that fits the other files. Stop the member first. It is made of what the other files say: each shard says whose it is and
how far it reaches, registries say which repositories and branches there are. A catalogue that is there is kept beside it.

What was lost together with the catalogue and nothing else names, as the locks of a branch, is not missed afterwards, nor is
an end of the journal that no shard knows of. Where the lost one cannot be read, it is not known either which master key the
directory was made with: the next start notes the key it is given, and would take a wrong one. Where there is a copy of the catalogue of the same time, bring that back instead.

  --data-dir <folder>   the data directory; default: SVC_DATA_DIR, else data
  --help                this text

Exit code 0: done. ${REMARKS_EXIT_CODE}: done, and something that is named is missing. ${FAILED_EXIT_CODE}: it failed. ${USAGE_EXIT_CODE}: it could not be asked for.
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
      'It does not know which master key the directory was made with: the next start notes the one it is given. ' +
        'See that secrets/master-key, or what the environment gives in its place, is the right one.\n',
    );
  return remarks.length === 0 ? 0 : REMARKS_EXIT_CODE;
}

await runCommand({ usage, options, main });
