import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type OutputChunk, rolldown } from 'rolldown';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'node_modules/.cache/bundled');

/** Modules that what is loaded before a member shares with it: they stay files of their own, with all they import. */
const shared = ['runtime/commit/crash-point.ts', 'runtime/base/time/clock.ts'];

/** Packages of JavaScript alone and of many files, which become part of the program. */
const bundledPackages = /^(?:@chevrotain|jose|chevrotain|openid-client|oauth4webapi|smol-toml)(?:\/|$)/;

const { imports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly imports: Readonly<Record<string, string>>;
};

/** The file of a module of this repository; undefined for a package. */
function fileOf(specifier: string, importer: string): string | undefined {
  if (specifier.startsWith('.')) return resolve(dirname(importer), specifier);
  const name = Object.keys(imports).find((each) => specifier.startsWith(each.slice(0, -1)));
  if (name === undefined) return undefined;
  return join(root, (imports[name] as string).slice(0, -1), specifier.slice(name.length - 1));
}

/** Files with all that they import, types aside. */
function withImports(files: readonly string[], found = new Set<string>()): ReadonlySet<string> {
  for (const file of files) {
    if (found.has(file)) continue;
    found.add(file);
    const named = readFileSync(file, 'utf8').matchAll(
      /^(?:import|export) (?!type )(?:[^'"]*? from )?'([^']+)';/gm,
    );
    const imported = [...named].map(([, specifier]) => fileOf(specifier as string, file));
    withImports(
      imported.filter((each) => each !== undefined),
      found,
    );
  }
  return found;
}

/**
 * Puts the program of a member into one file: it starts in half the processor's time of its fifteen hundred, and the suites
 * start hundreds. It is the same code in the same order.
 *
 * @returns the file, which is another one for other code
 */
export async function bundleMain(): Promise<string> {
  const apart = withImports(shared.map((file) => join(root, file)));
  const bundle = await rolldown({
    input: join(root, 'server/main.ts'),
    platform: 'node',
    logLevel: 'silent',
    plugins: [
      {
        name: 'modules-of-this-repository',
        resolveId(specifier, importer) {
          if (importer === undefined || importer.includes('node_modules')) return undefined;
          const file = fileOf(specifier, importer);
          if (file === undefined)
            return specifier.startsWith('node:') || bundledPackages.test(specifier)
              ? undefined
              : { id: specifier, external: true };
          return apart.has(file) ? { id: pathToFileURL(file).href, external: true } : file;
        },
        // They find what lies beside them.
        transform: (code, id) =>
          code.includes('import.meta.url') && !id.includes('node_modules')
            ? code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
            : undefined,
      },
    ],
  });
  const { output } = await bundle.generate({ format: 'esm', keepNames: true, codeSplitting: false });
  await bundle.close();
  const { code } = output[0] as OutputChunk;
  const file = join(folder, `main-${createHash('sha256').update(code).digest('hex').slice(0, 16)}.mjs`);
  if (existsSync(file)) return file;
  mkdirSync(folder, { recursive: true });
  // Another run may look for it.
  writeFileSync(`${file}.${process.pid}`, code);
  renameSync(`${file}.${process.pid}`, file);
  return file;
}
