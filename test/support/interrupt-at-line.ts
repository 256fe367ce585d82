/**
 * Loaded before a program (`--import`): interrupts it while it prints the first text that has `INTERRUPT_AT` in it. The signal
 * comes at that very step of its work, however fast that is. The program takes its output for a terminal, so that it prints
 * every step.
 */
const { stdout } = process;
const at = process.env.INTERRUPT_AT;
const write = stdout.write.bind(stdout);
let isInterrupted = false;

function writeAndInterrupt(text: string | Uint8Array): boolean {
  const isTaken = write(text);
  if (!isInterrupted && at !== undefined && text.toString().includes(at)) {
    isInterrupted = true;
    process.kill(process.pid, 'SIGINT');
  }
  return isTaken;
}

stdout.isTTY = true;
stdout.write = writeAndInterrupt;
