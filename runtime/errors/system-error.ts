/** Whether an error was raised by the operating system: a file could not be read, written or opened. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException & { readonly code: string } {
  const code = (error as NodeJS.ErrnoException | null | undefined)?.code;
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code);
}
