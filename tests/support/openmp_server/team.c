/* The inner loop of a graph runtime on OpenMP: teams of two, and a barrier after every small piece of work.
 *
 * libgomp gives every thread that calls this a team of its own and keeps it until that thread ends. Once the
 * process's teams count more threads than it has CPUs, idle ones included, every barrier sleeps instead of spinning.
 */
#include <omp.h>

double synthesize(long n_regions, long n_barriers, long n_steps)
{
    double sum = 0;
    for (long region = 0; region < n_regions; region++) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
        for (long i = 0; i < n_barriers; i++) {
            /* Uneven shares, in turns: each barrier has one thread that waits. */
            long steps = (i + omp_get_thread_num()) % 2 ? n_steps : n_steps / 2;
            for (long step = 0; step < steps; step++)
                sum = sum * 0.999 + 0.001;
#pragma omp barrier
        }
    }
    return sum;
}
