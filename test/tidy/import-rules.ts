import {
  areaOf,
  type Import,
  productFolders,
  type SourceFile,
  targetOf,
  topOf,
  type Violation,
} from './source-file.ts';

/** Folders that `#` names lead to. */
const hashFolders = new Set<string>([...productFolders, 'test']);

/**
 * Where the one door of a dependency is, a second-level folder or a whole top folder; a dependency that is not
 * here has the door it is first used by.
 */
export const doors: Readonly<Record<string, string>> = {
  lmdb: 'runtime/shard',
  'uWebSockets.js': 'protocols/http',
  pino: 'runtime/telemetry',
  'prom-client': 'runtime/telemetry',
  jose: 'runtime/access',
  argon2: 'runtime/access',
  nodemailer: 'server/mail',
  'smol-toml': 'runtime/config',
  chevrotain: 'runtime/sql-syntax',
  '@nats-io/transport-node': 'cluster',
  '@nats-io/jetstream': 'cluster',
  '@nats-io/obj': 'cluster',
};

/** Modules that open sockets; `runtime` declares a port for what it needs of them. */
const socketModules = new Set(
  ['net', 'http', 'https', 'http2', 'tls', 'dgram', 'dns'].map((name) => `node:${name}`),
);

/** What puts a process or a cluster of them together. */
function mayBeStarted(path: string): boolean {
  return topOf(path) === 'server' || areaOf(path) === 'operator/local-cluster';
}

function isProduct(path: string): boolean {
  return (productFolders as readonly string[]).includes(topOf(path));
}

function violation(file: SourceFile, found: Import, rule: string, remedy: string): Violation {
  return { path: file.path, line: found.line, rule, remedy };
}

/** Which folder may import which: runtime, then actors, then protocols and cluster, then operator, then server. */
export function checkDirection(files: readonly SourceFile[]): Violation[] {
  return files.flatMap((file) =>
    file.imports.flatMap((found) => {
      const target = targetOf(file, found.specifier);
      const remedy = target === undefined ? socketRemedy(file, found) : directionRemedy(file.path, target);
      return remedy === undefined ? [] : [violation(file, found, 'direction', remedy)];
    }),
  );
}

function socketRemedy(file: SourceFile, found: Import): string | undefined {
  if (topOf(file.path) !== 'runtime' || !socketModules.has(found.specifier)) return undefined;
  return `runtime opens no socket; declare what it needs of ${found.specifier} in a ports.ts`;
}

function directionRemedy(path: string, target: string): string | undefined {
  const from = topOf(path);
  const to = topOf(target);
  const area = areaOf(path);
  if (from === 'test' || from === 'server' || areaOf(target) === area) return undefined;
  // What says which tests there are.
  if (path === 'vitest.config.ts') return undefined;
  if (to === 'test') return `nothing outside of test imports test (${target})`;
  // A benchmark starts members and clusters as the programs for people do, and looks into a member of its own.
  if (from === 'bench' && mayBeStarted(target)) return undefined;
  if (to === 'server') return `nothing imports server (${target})`;
  if (to === 'operator' && from !== 'operator') return `only server imports operator (${target})`;
  if (to === 'cluster' && from !== 'cluster' && from !== 'operator')
    return `nothing imports cluster (${target}); declare a port`;
  const isMessages = /^actors\/[^/]+\/(?:[a-z-]+-)?messages\.ts$/.test(target);
  switch (from) {
    case 'runtime':
      return to === 'runtime' ? undefined : `runtime imports nothing of ours outside runtime (${target})`;
    case 'actors':
      if (to === 'runtime' || isMessages) return undefined;
      return `actors import runtime and other actors' messages only (${target})`;
    case 'protocols':
      if (to === 'runtime' || to === 'protocols' || isMessages) return undefined;
      return `protocols import runtime, protocols and actors' messages only (${target})`;
    case 'cluster':
      return to === 'runtime' || to === 'cluster' ? undefined : `cluster imports runtime only (${target})`;
    case 'operator':
      if (to === 'runtime' || to === 'cluster' || to === 'operator') return undefined;
      return `operator imports runtime and cluster only (${target})`;
    case 'client':
    case 'console':
      return to === from ? undefined : `${from} speaks only the public wire (${target})`;
    default:
      return undefined;
  }
}

/** `#` names across second-level folders, relative names inside, always with the file's extension. */
export function checkSpelling(files: readonly SourceFile[]): Violation[] {
  return files.flatMap((file) =>
    file.imports.flatMap((found) => {
      const target = targetOf(file, found.specifier);
      if (target === undefined) return [];
      const remedy = spellingRemedy(file.path, found.specifier, target);
      return remedy === undefined ? [] : [violation(file, found, 'import spelling', remedy)];
    }),
  );
}

function spellingRemedy(path: string, specifier: string, target: string): string | undefined {
  const isSameArea = areaOf(target) === areaOf(path);
  if (!/\.(ts|json)$/.test(specifier)) return `write the extension: '${specifier}.ts'`;
  if (specifier.startsWith('#')) {
    return isSameArea ? `inside ${areaOf(path)} write a relative name, not '${specifier}'` : undefined;
  }
  if (isSameArea || !hashFolders.has(topOf(target))) return undefined;
  return `this leaves ${areaOf(path)}: write '#${target}'`;
}

/** Import from the file that defines a name: no re-exports, no index files. */
export function checkBarrels(files: readonly SourceFile[]): Violation[] {
  const reExports = files.flatMap((file) =>
    file.imports
      .filter((found) => found.isReExport)
      .map((found) =>
        violation(file, found, 'barrel', `re-exports ${found.specifier}; import it where it is defined`),
      ),
  );
  const indexes = files
    .filter((file) => /(^|\/)index\.ts$/.test(file.path))
    .map(({ path }) => ({ path, line: 1, rule: 'barrel', remedy: 'name the file for what it exports' }));
  return [...reExports, ...indexes];
}

/** The package of a specifier: `@scope/name` or `name`; `undefined` for files and modules of Node. */
export function packageOf(specifier: string): string | undefined {
  if (/^[.#]|^node:/.test(specifier)) return undefined;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** What `package.json` says. */
export interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** Declared packages only, each imported through its door. */
export function checkDoors(files: readonly SourceFile[], manifest: Manifest): Violation[] {
  const firstUse = new Map<string, string>();
  const product = new Set(Object.keys(manifest.dependencies ?? {}));
  const declared = new Set([...product, ...Object.keys(manifest.devDependencies ?? {})]);
  return files.flatMap((file) =>
    file.imports.flatMap((found) => {
      const name = packageOf(found.specifier);
      if (name === undefined) return [];
      if (!declared.has(name))
        return [violation(file, found, 'dependency', `${name} is not in package.json`)];
      if (!isProduct(file.path)) return [];
      if (!product.has(name)) {
        return [violation(file, found, 'dependency', `${name} is a development dependency`)];
      }
      const area = areaOf(file.path);
      const door = doors[name] ?? firstUse.get(name) ?? area;
      firstUse.set(name, door);
      if (door === area || door === topOf(file.path)) return [];
      return [
        violation(file, found, 'one door', `${name} is used through ${door} only; call what it exports`),
      ];
    }),
  );
}

/** One edge between two folders or files, with the import that makes it. */
interface Edge {
  readonly file: SourceFile;
  readonly found: Import;
  readonly to: string;
}

/** No cycles between second-level folders of the product, imports of types included. */
export function checkCycles(files: readonly SourceFile[]): Violation[] {
  return cyclesBetween(
    files.filter((file) => isProduct(file.path)),
    areaOf,
    'declare a port or move what both need',
  );
}

/** No cycles between files, imports of types included. */
export function checkFileCycles(files: readonly SourceFile[]): Violation[] {
  return cyclesBetween(files, (path) => path, 'move what both need to a file of its own');
}

function cyclesBetween(
  files: readonly SourceFile[],
  groupOf: (path: string) => string,
  remedy: string,
): Violation[] {
  const groups = new Set(files.map((file) => groupOf(file.path)));
  const edges = new Map<string, Edge[]>();
  for (const file of files) {
    const from = groupOf(file.path);
    for (const found of file.imports) {
      const target = targetOf(file, found.specifier);
      if (target === undefined) continue;
      const to = groupOf(target);
      if (to === from || !groups.has(to)) continue;
      const known = edges.get(from);
      if (known === undefined) edges.set(from, [{ file, found, to }]);
      else known.push({ file, found, to });
    }
  }
  return [...edges.keys()].sort().flatMap((start) => {
    const cycle = shortestCycle(start, edges);
    // Each cycle is told once, by the member whose name comes first.
    if (cycle === undefined || cycle.some((edge) => edge.to < start)) return [];
    const first = cycle[0] as Edge;
    const tour = [start, ...cycle.map((edge) => `${edge.to} (${edge.file.path}:${edge.found.line})`)];
    return [violation(first.file, first.found, 'cycle', `${tour.join(' -> ')}; ${remedy}`)];
  });
}

function shortestCycle(start: string, edges: ReadonlyMap<string, readonly Edge[]>): Edge[] | undefined {
  const reached = new Map<string, Edge[]>([[start, []]]);
  const queue = [start];
  for (let area = queue.shift(); area !== undefined; area = queue.shift()) {
    const way = reached.get(area) as Edge[];
    for (const edge of edges.get(area) ?? []) {
      if (edge.to === start) return [...way, edge];
      if (reached.has(edge.to)) continue;
      reached.set(edge.to, [...way, edge]);
      queue.push(edge.to);
    }
  }
  return undefined;
}
