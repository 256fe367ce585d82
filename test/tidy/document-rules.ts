import type { Manifest } from './import-rules.ts';
import type { SourceFile, Violation } from './source-file.ts';

/** Every dependency has its line in the page, and the page has no line for anything else. */
export function checkDependencyPage(manifest: Manifest, page: string): Violation[] {
  const path = 'docs/dependencies.md';
  const declared = [
    ...Object.keys(manifest.dependencies ?? {}),
    ...Object.keys(manifest.devDependencies ?? {}),
  ];
  const described = page.split('\n').flatMap((line, index) => {
    const match = /^\| `([^`]+)` \| [^|]+ \| [^|]+ \| [^|]+ \|$/.exec(line);
    return match === null ? [] : [{ name: match[1] as string, line: index + 1 }];
  });
  const missing = declared
    .filter((name) => !described.some((row) => row.name === name))
    .map((name) => ({
      path,
      line: 1,
      rule: 'dependency page',
      remedy: `${name} has no row: what for, why this one, what was refused`,
    }));
  const stale = described
    .filter((row) => !declared.includes(row.name))
    .map(({ name, line }) => ({
      path,
      line,
      rule: 'dependency page',
      remedy: `${name} is not in package.json; remove its row`,
    }));
  return [...missing, ...stale];
}

/**
 * Every option is read by something: one that is not promises what nobody keeps.
 *
 * @param names property names of the options
 */
export function checkOptionsUsed(files: readonly SourceFile[], names: readonly string[]): Violation[] {
  const readers = files.filter(
    (file) =>
      /^(runtime|actors|protocols|cluster)\//.test(file.path) && !file.path.startsWith('runtime/config/'),
  );
  const reading = `${readers.map((file) => file.code).join('\n')}\n${secretsCode(files)}`;
  return names
    .filter((name) => !new RegExp(`\\b${name}\\b`).test(reading))
    .map((name) => ({
      path: 'runtime/config/options.ts',
      line: 1,
      rule: 'unused option',
      remedy: `nothing reads ${name}; use it or remove it`,
    }));
}

/** The keys of a member are consumed inside of the configuration folder. */
function secretsCode(files: readonly SourceFile[]): string {
  return files.find((file) => file.path === 'runtime/config/secrets.ts')?.code ?? '';
}

/** Decisions are numbered one after the other, each number once. @param names of the files in docs/decisions */
export function checkDecisionNumbers(names: readonly string[]): Violation[] {
  return names.toSorted().flatMap((name, index) => {
    const wanted = String(index).padStart(4, '0');
    if (name.startsWith(`${wanted}-`)) return [];
    return [
      {
        path: `docs/decisions/${name}`,
        line: 1,
        rule: 'decision number',
        remedy: `it stands in the place of number ${wanted}; take the next free number`,
      },
    ];
  });
}

/** Every crash point stands somewhere: arming one that does not would test nothing. */
export function checkCrashPointsPlaced(files: readonly SourceFile[], names: readonly string[]): Violation[] {
  const product = files
    .filter((file) => /^(runtime|actors|protocols|cluster)\//.test(file.path))
    .map((file) => file.withTexts)
    .join('\n');
  return names
    .filter((name) => !new RegExp(`\\bcrashPoint\\(\\s*['"]${name}['"]`).test(product))
    .map((name) => ({
      path: 'runtime/commit/crash-point.ts',
      line: 1,
      rule: 'unplaced crash point',
      remedy: `no code passes ${name}; place it or remove it`,
    }));
}
