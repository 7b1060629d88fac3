/*
 * Imported before a program that runs with --expose-gc: on SIGUSR2 it collects its garbage, and prints how many bytes
 * are still referenced.
 */

process.on('SIGUSR2', () => {
  gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.stdout.write(`live ${heapUsed + external}\n`);
});
