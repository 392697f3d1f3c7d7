module rates

go 1.26
