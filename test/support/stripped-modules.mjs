/*
 * Preloaded by the programs that tests start, by NODE_OPTIONS in vitest.config.ts. Node removes the types of every module
 * at every start, which is half of the processor's time of a start, and the suites start a program some two thousand
 * times. So what is left of a module is kept, by the hash of its text, and with it the compiled code. And Node looks for the
 * `package.json` and the real path of each module that one of this repository imports, although the name says where it is.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import * as modules from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(
  new URL(`../../node_modules/.cache/stripped/${process.version}`, import.meta.url),
);

const root = new URL('../../', import.meta.url);
const dependencies = new URL('node_modules/', root).href;

/** Folders of the repository by the beginning of a `#` import. */
const folders = new Map(
  Object.entries(JSON.parse(readFileSync(new URL('package.json', root), 'utf8')).imports).map(
    ([name, place]) => [name.slice(0, -1), new URL(place.slice(0, -1), root).href],
  ),
);

// The Node that runs npm may be an older one.
if (modules.registerHooks !== undefined && modules.stripTypeScriptTypes !== undefined) {
  try {
    mkdirSync(folder, { recursive: true });
    modules.enableCompileCache(join(folder, 'compiled'));
    modules.registerHooks({ load, resolve });
  } catch {
    // The folder cannot be written: then modules are loaded as usual.
  }
}

/** Modules of this repository; all others are left to Node. */
function resolve(specifier, context, next) {
  const url = specifier.endsWith('.ts') ? urlOf(specifier, context.parentURL) : undefined;
  return url === undefined ? next(specifier, context) : { url, format: 'module', shortCircuit: true };
}

function urlOf(specifier, parent) {
  if (parent === undefined || !parent.startsWith(root.href) || parent.startsWith(dependencies))
    return undefined;
  if (specifier.startsWith('.')) return new URL(specifier, parent).href;
  const end = specifier.indexOf('/') + 1;
  const folder = folders.get(specifier.slice(0, end));
  return folder === undefined ? undefined : folder + specifier.slice(end);
}

function load(url, context, next) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context);
  const text = textOf(url);
  return { format: 'module', source: stripped(text), shortCircuit: true };
}

function textOf(url) {
  try {
    return readFileSync(fileURLToPath(url), 'utf8');
  } catch (error) {
    // As Node says it, which looks for a module before it reads it.
    if (error.code === 'ENOENT') error.code = 'ERR_MODULE_NOT_FOUND';
    throw error;
  }
}

function stripped(text) {
  const kept = join(folder, `${createHash('sha256').update(text).digest('hex')}.js`);
  try {
    return readFileSync(kept, 'utf8');
  } catch {
    const code = withoutWarning(() => modules.stripTypeScriptTypes(text));
    keep(kept, code);
    return code;
  }
}

/** Another process may read the file at any time. */
function keep(path, code) {
  const unfinished = `${path}.${process.pid}`;
  try {
    writeFileSync(unfinished, code);
    renameSync(unfinished, path);
  } catch {
    // A disk that a test has filled.
  }
}

/** Says nothing of the function being experimental: tests look at what programs write. */
function withoutWarning(strip) {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return strip();
  } finally {
    process.emitWarning = emitWarning;
  }
}
