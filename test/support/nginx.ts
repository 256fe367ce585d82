import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '#test/tidy/source-file.ts';
import { startBalancerProcess, type TestBalancer } from './balancer-process.ts';
import { freePorts } from './free-ports.ts';
import { requiredProgram } from './required-program.ts';

/** Folders nginx makes at its start, which the packages put where only root may write. */
const FOLDERS = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/**
 * Starts nginx with the configuration of the project in front of addresses; only these, its port and the places of its
 * own files are replaced.
 */
export async function startNginx(members: readonly string[]): Promise<TestBalancer> {
  const port = await freePorts([0]);
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'));
  const shipped = readFileSync(join(projectRoot, 'operator/local-cluster/nginx.conf'), 'utf8');
  const servers = members.map((address) => `server ${address} max_fails=1 fail_timeout=1s;`);
  const own = [
    `pid ${folder}/nginx.pid;`,
    shipped
      .replace('worker_processes auto;', 'worker_processes 1;\ndaemon off;')
      .replace(/^ *server 127\.0\.0\.1:8080 .*$/m, servers.join('\n'))
      .replace('listen 80;', `listen 127.0.0.1:${port};`)
      .replace(
        'http {\n',
        `http {\naccess_log off;\n${FOLDERS.map((name) => `${name}_temp_path ${folder}/${name};\n`).join('')}`,
      ),
  ];
  const path = join(folder, 'nginx.conf');
  writeFileSync(path, own.join('\n'));
  return startBalancerProcess({
    program: process.env.NGINX_BIN ?? requiredProgram('nginx'),
    args: ['-e', 'stderr', '-p', folder, '-c', path],
    port,
    // A killed master leaves its workers behind; they keep the port.
    signal: 'SIGTERM',
    ended: () => rmSync(folder, { recursive: true }),
  });
}
