/*
 * Preloaded by the programs that tests start, by NODE_OPTIONS in vitest.config.ts. Node removes the types of every module
 * at every start, which is half of the processor's time of a start, and the suites start a program some two thousand
 * times. So what is left of a module is kept, by the hash of its text, and with it the compiled code.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import * as modules from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(
  new URL(`../../node_modules/.cache/stripped/${process.version}`, import.meta.url),
);

// The Node that runs npm may be an older one.
if (modules.registerHooks !== undefined && modules.stripTypeScriptTypes !== undefined) {
  try {
    mkdirSync(folder, { recursive: true });
    modules.enableCompileCache(join(folder, 'compiled'));
    modules.registerHooks({ load });
  } catch {
    // The folder cannot be written: then modules are loaded as usual.
  }
}

function load(url, context, next) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context);
  const text = readFileSync(fileURLToPath(url), 'utf8');
  return { format: 'module', source: stripped(text), shortCircuit: true };
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
